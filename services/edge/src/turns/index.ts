export type { TurnSink } from "./events.ts";
export { FAILURE_CODES } from "./failures.ts";
export { runTurn, type TurnContext, type TurnDeps, type TurnReport, type TurnRequest } from "./run-turn.ts";
export { Stopwatch } from "./stopwatch.ts";
