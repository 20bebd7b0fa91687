import { type Database, type Logger, pause } from "@parley/service-kit";
import { deleteExpiredSecrets, listSecretsOfOtherKeys, replaceEncrypted } from "./endpoints.store.ts";
import { deleteDeliveries, deleteExpired, findNextEndpoint } from "./queue.store.ts";
import type { SecretBox } from "./secret-box.ts";
import { type EndpointRef, KEPT_DAYS } from "./webhook.ts";

const BATCH_ROWS = 1_000;
const PAUSE_MS = 100;
const BATCH_SECRETS = 1_000;

export type HousekeepingDeps = { database: Database; secretBox: SecretBox; log: Pick<Logger, "warn"> };

/**
 * Deletes the deliveries that are older than KEPT_DAYS and do not wait, those of deleted endpoints, and expired secrets. Encrypts the secrets again that
 * another key than the installation's first one has encrypted. Replicas may run this concurrently.
 */
export async function keepWebhooks(deps: HousekeepingDeps, signal: AbortSignal): Promise<void> {
  const { database } = deps;
  await deleteExpiredSecrets(database);
  await reencryptSecrets(deps);
  await deleteAll(() => deleteExpired(database, KEPT_DAYS, BATCH_ROWS), signal);
  let after: EndpointRef | undefined;
  while (!signal.aborted) {
    const endpoint = await findNextEndpoint(database, after);
    if (endpoint === undefined) return;
    if (endpoint.isDeleted) await deleteAll(() => deleteDeliveries(database, endpoint, BATCH_ROWS), signal);
    after = endpoint;
  }
}

async function deleteAll(deleteBatch: () => Promise<number>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await deleteBatch()) === BATCH_ROWS) await pause(PAUSE_MS, signal);
}

async function reencryptSecrets({ database, secretBox, log }: HousekeepingDeps): Promise<void> {
  const keyId = secretBox.currentKeyId;
  if (keyId === undefined) return;
  for (const stored of await listSecretsOfOtherKeys(database, keyId, BATCH_SECRETS)) {
    const reencrypt = (secret: string) => secretBox.encrypt(secretBox.decrypt(secret, stored), stored);
    try {
      const previousSecret = stored.previousSecret === null ? null : reencrypt(stored.previousSecret);
      await replaceEncrypted(database, stored, { secret: reencrypt(stored.secret), previousSecret });
    } catch (error) {
      const { workspaceId, endpointId } = stored;
      log.warn({ workspace_id: workspaceId, endpoint_id: endpointId, error }, "webhook secret not encrypted again");
    }
  }
}
