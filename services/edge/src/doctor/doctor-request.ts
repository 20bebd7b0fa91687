import { readRequiredText } from "../chat/index.ts";
import { invalidMessage, parseJsonObject } from "../http/index.ts";

export type DoctorRequest = {
  publicKey: string;
  /** How long the response pauses before the event `done`. */
  silenceMs: number;
};

/** Must be shorter than IDLE_CONNECTION_TIMEOUT_MS of app.ts, because the server sends nothing during the silence. */
export const MAX_SILENCE_MS = 30_000;

/** Parses the body of POST /api/doctor/. The silence defaults to 0. */
export function parseDoctorRequest(bytes: Uint8Array | undefined): DoctorRequest {
  const body = parseJsonObject(bytes);
  const publicKey = readRequiredText(body, "public_key");
  const { silence_ms: silence = 0 } = body;
  if (typeof silence !== "number" || !Number.isInteger(silence) || silence < 0 || silence > MAX_SILENCE_MS)
    throw invalidMessage("silence_ms");
  return { publicKey, silenceMs: silence };
}
