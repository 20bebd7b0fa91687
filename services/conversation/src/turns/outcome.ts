import { TurnOutcome } from "@parley/rpc/conversation";

/** How a turn ended, as the transcript says it. */
export type Outcome = "done" | "error" | "blocked" | "quota_exceeded" | "cancelled" | "interrupted";

export type Status = Outcome | "streaming";

const MESSAGES: Record<Outcome, TurnOutcome> = {
  done: TurnOutcome.DONE,
  error: TurnOutcome.ERROR,
  blocked: TurnOutcome.BLOCKED,
  quota_exceeded: TurnOutcome.QUOTA_EXCEEDED,
  cancelled: TurnOutcome.CANCELLED,
  interrupted: TurnOutcome.INTERRUPTED,
};

export const OUTCOMES = Object.keys(MESSAGES) as Outcome[];

const BY_NUMBER = new Map(Object.entries(MESSAGES).map(([name, number]) => [number, name as Outcome]));

export function outcomeToMessage(outcome: Outcome): TurnOutcome {
  return MESSAGES[outcome];
}

/** Undefined for an unspecified or unknown outcome. */
export function outcomeFromMessage(outcome: TurnOutcome): Outcome | undefined {
  return BY_NUMBER.get(outcome);
}
