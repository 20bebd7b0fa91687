import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { parseTokens } from "@parley/service-kit";
import type { EndpointRef } from "./webhook.ts";

const MIN_KEY_CHARACTERS = 32;
const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
const SECRET_BYTES = 32;
/** The prefix of a secret in Standard Webhooks. */
const SECRET_PREFIX = "whsec_";

/** Splits ENCRYPTION_KEY at white space into keys. Throws if one of them is too short. */
export function parseEncryptionKeys(text: string): string[] {
  const keys = parseTokens(text);
  if (keys.some((key) => key.length < MIN_KEY_CHARACTERS))
    throw new Error(`must have at least ${MIN_KEY_CHARACTERS} characters, such as the output of openssl rand -hex 32`);
  return keys;
}

export function createWebhookSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString("base64")}`;
}

/**
 * Encrypts the endpoints' secrets with the first of the installation's keys, and decrypts with each of them. A rotation of the key has three steps,
 * as that of other tokens. An encrypted secret names its key, and belongs to one endpoint.
 */
export class SecretBox {
  readonly #keys: () => readonly string[];

  constructor(keys: () => readonly string[]) {
    this.#keys = keys;
  }

  /** Whether the installation has a key. */
  get isAvailable(): boolean {
    return this.#keys().length > 0;
  }

  encrypt(secret: string, endpoint: EndpointRef): string {
    const [key] = this.#keys();
    if (key === undefined) throw new Error("no ENCRYPTION_KEY");
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, deriveKey(key), iv).setAAD(addressOf(endpoint));
    const encrypted = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
    return `${keyIdOf(key)}.${Buffer.concat([iv, encrypted, cipher.getAuthTag()]).toString("base64url")}`;
  }

  /** Throws if the key is not among the installation's keys. */
  decrypt(text: string, endpoint: EndpointRef): string {
    const [keyId, encoded = ""] = text.split(".");
    const key = this.#keys().find((each) => keyIdOf(each) === keyId);
    if (key === undefined) throw new Error("ENCRYPTION_KEY lacks the key of a webhook's secret");
    const bytes = Buffer.from(encoded, "base64url");
    const decipher = createDecipheriv(CIPHER, deriveKey(key), bytes.subarray(0, IV_BYTES))
      .setAAD(addressOf(endpoint))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
  }

  /** The id of the key that encrypts; undefined without a key. */
  get currentKeyId(): string | undefined {
    const [key] = this.#keys();
    return key && keyIdOf(key);
  }
}

function addressOf({ workspaceId, endpointId }: EndpointRef): Buffer {
  return Buffer.from(`${workspaceId}/${endpointId}`);
}

function deriveKey(key: string): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", "parley webhook secrets", 32));
}

function keyIdOf(key: string): string {
  return createHash("sha256").update(`parley key id ${key}`).digest("hex").slice(0, 8);
}
