import { randomUUID } from "node:crypto";
import type { Database } from "@parley/service-kit";
import { insertEndpoint } from "../webhooks/endpoints.store.ts";
import { createWebhookSecret, SecretBox } from "../webhooks/secret-box.ts";

export const ENCRYPTION_KEY = "an-encryption-key-of-the-tests-0123456789";

export type TestEndpoint = { workspaceId: string; endpointId: string; secret: string };

/** Adds an endpoint to a workspace. */
export async function addEndpoint(
  database: Database,
  workspaceId: string,
  settings: { url?: string; types?: string[]; includeContent?: boolean } = {},
): Promise<TestEndpoint> {
  const ref = { workspaceId, endpointId: randomUUID() };
  const secret = createWebhookSecret();
  const encrypted = new SecretBox(() => [ENCRYPTION_KEY]).encrypt(secret, ref);
  await insertEndpoint(database, ref, { url: "https://receiver.example/", ...settings }, encrypted);
  return { ...ref, secret };
}
