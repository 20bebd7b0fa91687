import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

// PostgreSQL's defaults.
const ITERATIONS = 4_096;
const SALT_BYTES = 16;

/** The length of a SHA-256 hash. */
const KEY_BYTES = 32;

const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;

/**
 * Returns the SCRAM-SHA-256 verifier that PostgreSQL stores instead of the password. If CREATE ROLE or ALTER ROLE contains the verifier, the
 * password reaches neither the server nor its log. Throws for a password that is not printable ASCII, because PostgreSQL would normalize it
 * with SASLprep before hashing.
 */
export function createScramVerifier(password: string): string {
  if (!PRINTABLE_ASCII.test(password)) {
    throw new Error(
      "the password of the service's role must be printable ASCII: letters, digits, spaces and punctuation",
    );
  }
  const salt = randomBytes(SALT_BYTES);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, KEY_BYTES, "sha256");
  const deriveKey = (label: string) => createHmac("sha256", salted).update(label).digest();
  const storedKey = createHash("sha256").update(deriveKey("Client Key")).digest("base64");
  const serverKey = deriveKey("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}
