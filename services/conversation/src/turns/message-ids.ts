import { randomBytes, randomInt } from "node:crypto";

// A session's message ids start at a random number and rise by random steps, so that they reveal nothing about other sessions. Reply ids are
// even; the id of a visitor's message is one less than the id of its reply. All ids are below 2^53.
//
//   2^50 to 2^52   the id of a session's first reply, chosen at random
//   2^50 to 2^53   a session's later reply ids, computed from sessions.last_message_id; enough for 2^32 turns per session

const MIN_START = 2 ** 50;
/** The largest value of `step`. */
const MAX_STEP = 2 ** 20;
/** The number of possible values of `start`. */
const START_COUNT = BigInt(2 ** 52 - MIN_START) / 2n;

export type MessageIdChoice = {
  /** In a new session: the id of the first reply. */
  start: bigint;
  /** In an existing session: the distance from the last reply's id to the next reply's id. */
  step: number;
};

/** Chooses even numbers that nobody can predict. */
export function chooseMessageId(): MessageIdChoice {
  return {
    start: BigInt(MIN_START) + 2n * (randomBytes(8).readBigUInt64BE() % START_COUNT),
    step: 2 * randomInt(1, MAX_STEP / 2 + 1),
  };
}
