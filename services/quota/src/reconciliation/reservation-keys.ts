import type { ReservationKey } from "@parley/rpc/quota";
import { invalidArgument } from "@parley/service-kit";
import { requireTurnId } from "../usage/index.ts";

const MAX_TURNS = 1_000;

/** Returns the turns with their ids in lower case. Throws invalid_argument for too many turns or a turn id that is not a UUID. */
export function requireReservationKeys(turns: readonly ReservationKey[]): { workspaceId: string; turnId: string }[] {
  if (turns.length > MAX_TURNS) throw invalidArgument(`a call must have at most ${MAX_TURNS} turns`);
  return turns.map(({ workspaceId, turnId }) => ({ workspaceId, turnId: requireTurnId(turnId) }));
}
