import type { Gate } from "../gate/main.ts";
import { Failure } from "../shared/failure.ts";
import type { ChunkContext } from "./chunk.ts";

/**
 * Returns `pass` of the chunk `gate`, which its first call loads. If loading fails, rejects with the refusal, and a later call tries again.
 */
export function createGateLoader(context: ChunkContext): Gate["pass"] {
  let gate: Gate | undefined;
  return async (refusal, session, signal) => {
    try {
      if (!gate) {
        // The build defines GATE: see globals.d.ts.
        const chunk = (await context.load?.(GATE)) as typeof import("../gate/main.ts");
        gate = chunk.createGate(context);
      }
      return await gate.pass(refusal, session, signal);
    } catch (error) {
      signal.throwIfAborted();
      // The chunk has its own copy of the class Failure.
      const { code } = error as Failure;
      if (typeof code === "string") {
        throw new Failure(code, 0, refusal.requestId);
      }
      console.warn("Parley:", error);
      throw refusal;
    }
  };
}
