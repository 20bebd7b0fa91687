import { requiredText } from "../chat/index.ts";
import { HttpError, parseJsonObject } from "../http/index.ts";

export type DoctorRequest = { publicKey: string; silenceMs: number };

/** Less than what ends a connection on which nothing moves. */
export const MAX_SILENCE_MS = 30_000;

/** Reads the body of POST /api/doctor/; no silence unless one is asked for. */
export function parseDoctorRequest(bytes: Uint8Array | undefined): DoctorRequest {
  const body = parseJsonObject(bytes);
  const publicKey = requiredText(body, "public_key");
  const { silence_ms: silence = 0 } = body;
  if (typeof silence !== "number" || !Number.isInteger(silence) || silence < 0 || silence > MAX_SILENCE_MS)
    throw new HttpError(400, "invalid_message");
  return { publicKey, silenceMs: silence };
}
