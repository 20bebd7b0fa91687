import { createHmac } from "node:crypto";

/** Returns a hash of a client of a workspace: equal on all replicas, and without the secret not linkable to the client. */
export type HashClient = (workspaceId: string, bucket: string) => Uint8Array;

const HASH_BYTES = 16;

/**
 * `currentSecret` returns the token for calls between services, which every installation has and all replicas share. The quota service stores the
 * hash only while the client's reply runs, so the key does not change every day.
 */
export function createClientHash(currentSecret: () => string): HashClient {
  return (workspaceId, bucket) =>
    createHmac("sha256", `parley client hash ${currentSecret()}`)
      .update(JSON.stringify([workspaceId, bucket]))
      .digest()
      .subarray(0, HASH_BYTES);
}
