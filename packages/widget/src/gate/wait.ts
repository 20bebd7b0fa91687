import { fillPlaceholders } from "../panel/words.ts";
import { pause } from "../shared/pause.ts";
import type { GateFields, GateRequest } from "./request.ts";

/** Waits as long as the refusal says, with a countdown. */
export async function waitToSend({ words, refusal, signal, box, announce }: GateRequest): Promise<GateFields> {
  const fill = (seconds: number) => fillPlaceholders(words.wait, { n: seconds });
  const seconds = refusal.retryAfterSeconds || 1;
  announce(fill(seconds));
  for (let remaining = seconds; remaining > 0 && !signal.aborted; remaining--) {
    box.textContent = fill(remaining);
    await pause(1000, signal);
  }
  return {};
}
