import type { Gate } from "../gate/main.ts";
import { Failure } from "../shared/failure.ts";
import { type ChunkContext, loadChunk } from "./chunk.ts";

/**
 * Returns `pass` of the chunk `gate`, which its first call loads. If loading fails, rejects with the refusal, and a later call tries again. Rejects
 * at once if the signal is aborted, also while the chunk is loading.
 */
export function createGateLoader(context: ChunkContext): Gate["pass"] {
  let gate: Gate | undefined;
  return async (refusal, session, signal) => {
    try {
      if (!gate) {
        // The build defines GATE: see globals.d.ts.
        const chunk = await loadChunk<typeof import("../gate/main.ts")>(context, GATE, signal);
        gate = chunk.createGate(context);
      }
      return await gate.pass(refusal, session, signal);
    } catch (error) {
      signal.throwIfAborted();
      // The chunk has its own copy of the class Failure.
      const { code, retryAfterSeconds, requestId } = error as Failure;
      if (typeof code === "string") {
        throw new Failure(code, retryAfterSeconds, requestId || refusal.requestId);
      }
      console.warn("Parley:", error);
      throw refusal;
    }
  };
}
