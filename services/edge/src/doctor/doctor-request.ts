import { requiredText } from "../chat/index.ts";
import { invalidMessage, parseJsonObject } from "../http/index.ts";

export type DoctorRequest = { publicKey: string; silenceMs: number };

/** Room for a key of some thousand characters, so that a key that cannot exist is still answered as one. */
export const MAX_DOCTOR_BODY_BYTES = 8 * 1024;
/** Less than what ends a connection on which nothing moves. */
export const MAX_SILENCE_MS = 30_000;

/** Reads the body of POST /api/doctor/; no silence unless one is asked for. */
export function parseDoctorRequest(bytes: Uint8Array | undefined): DoctorRequest {
  const body = parseJsonObject(bytes);
  const publicKey = requiredText(body, "public_key");
  const { silence_ms: silence = 0 } = body;
  if (typeof silence !== "number" || !Number.isInteger(silence) || silence < 0 || silence > MAX_SILENCE_MS)
    throw invalidMessage();
  return { publicKey, silenceMs: silence };
}
