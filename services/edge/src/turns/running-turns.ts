import type { TurnEnding } from "./ending.ts";
import type { KeyedReply } from "./keyed-reply.ts";

export type RunningTurn = {
  workspaceId: string;
  cancel: () => void;
  /** Whether a person of the team has taken the session over, which cancels the turn. */
  isTakenOver: boolean;
  /** Set if the turn has an idempotency key: other requests can read its reply. */
  reply: KeyedReply | undefined;
  /** The stored ending, set before the turn is removed; undefined if it is unknown. */
  ending: TurnEnding | undefined;
  onRemoved: (() => void)[];
};

type TurnIds = { workspaceId: string; turnId: string };

/**
 * An idempotency key of a session. Includes the bot, so that a request to another bot does not get this bot's reply. Includes the verified
 * visitor, because OpenTurn and FindTurn may refuse the session to one visitor and not to another.
 */
export type IdempotencyKey = {
  workspaceId: string;
  botId: string;
  sessionId: string;
  keyHash: Uint8Array;
  visitorId: string;
  visitorVerified: boolean;
};

/** Per process. */
const MAX_KEYED_TURNS_OF_SESSION = 2;

/**
 * How long a stop request waits for the stored ending: 0.5 s for the reply to finish, 10 s for CloseTurn with retries, and a margin. Storing
 * a keyed turn may take longer, because its retries have no time limit.
 */
export const STOP_TIMEOUT_MS = 12_000;

/** The turns that this process runs, from before their OpenTurn until they end. */
export class RunningTurns {
  readonly #turns = new Map<string, RunningTurn>();
  readonly #replies = new Map<string, KeyedReply>();
  readonly #countBySession = new Map<string, number>();

  add({ workspaceId, turnId }: TurnIds, cancel: () => void, reply?: KeyedReply): RunningTurn {
    const turn: RunningTurn = { workspaceId, cancel, isTakenOver: false, reply, ending: undefined, onRemoved: [] };
    this.#turns.set(turnId, turn);
    return turn;
  }

  remove(turnId: string): void {
    const turn = this.#turns.get(turnId);
    this.#turns.delete(turnId);
    for (const notify of turn?.onRemoved ?? []) notify();
  }

  get(turnId: string): RunningTurn | undefined {
    return this.#turns.get(turnId);
  }

  /** Returns false if too many keyed turns of the session are running here. */
  addReply(key: IdempotencyKey, reply: KeyedReply): boolean {
    const session = sessionOf(key);
    const count = this.#countBySession.get(session) ?? 0;
    if (count >= MAX_KEYED_TURNS_OF_SESSION) return false;
    this.#countBySession.set(session, count + 1);
    this.#replies.set(toMapKey(key), reply);
    return true;
  }

  removeReply(key: IdempotencyKey): void {
    if (!this.#replies.delete(toMapKey(key))) return;
    const session = sessionOf(key);
    const count = (this.#countBySession.get(session) ?? 1) - 1;
    if (count === 0) this.#countBySession.delete(session);
    else this.#countBySession.set(session, count);
  }

  findReply(key: IdempotencyKey): KeyedReply | undefined {
    return this.#replies.get(toMapKey(key));
  }

  /** Called when the process stops. A keyed turn whose reply is not complete gets the outcome `error`. */
  endKeyedTurns(): void {
    for (const reply of this.#replies.values()) reply.endForShutdown();
  }

  /**
   * Cancels a turn, waits up to `timeoutMs` for its end, and returns its stored ending. Returns undefined if this process does not run the
   * turn, or if no ending was stored by then.
   * @param isTakeover whether a person of the team cancels the turn, and not its visitor.
   */
  async cancel(turnId: string, timeoutMs: number, isTakeover = false): Promise<TurnEnding | undefined> {
    const turn = this.#turns.get(turnId);
    if (turn === undefined) return undefined;
    turn.isTakenOver ||= isTakeover;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
      turn.onRemoved.push(resolve);
      turn.cancel();
    });
    clearTimeout(timer);
    return turn.ending;
  }
}

const sessionOf = ({ workspaceId, sessionId, visitorId, visitorVerified }: IdempotencyKey): string =>
  `${workspaceId} ${sessionId} ${visitorVerified ? visitorId : ""}`;
const toMapKey = (key: IdempotencyKey): string =>
  `${key.botId} ${Buffer.from(key.keyHash).toString("base64")} ${sessionOf(key)}`;
