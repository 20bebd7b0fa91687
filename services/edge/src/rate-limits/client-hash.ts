import { hash } from "node:crypto";

/** Returns a hash of a client of a workspace: equal on all replicas, and without the secret not linkable to the client. */
export type HashClient = (workspaceId: string, bucket: string) => Uint8Array;

const HASH_BYTES = 16;

/**
 * `currentSecret` returns the token for calls between services, which every installation has and all replicas share. The quota service stores the
 * hash only while the client's reply runs, so the key does not change every day.
 */
export function createClientHash(currentSecret: () => string): HashClient {
  // A truncated hash of the secret and the text cannot be extended, so it needs no HMAC, which costs several times as much.
  return (workspaceId, bucket) =>
    hash("sha256", JSON.stringify(["parley client hash", currentSecret(), workspaceId, bucket]), "buffer").subarray(
      0,
      HASH_BYTES,
    );
}
