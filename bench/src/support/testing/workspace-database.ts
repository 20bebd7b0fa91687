import { randomUUID } from "node:crypto";
import { createDatabase, queryRows, startTestPostgres } from "@parley/test-support";
import { onTestFinished } from "vitest";
import { runMigrations, SERVICE_ROLE_PASSWORD, SERVICES_WITH_DATABASE } from "../../../../tests/system/processes.ts";

/** Creates a migrated database with a workspace and its bot. Removes it when the test has finished. Returns its URL. */
export async function createWorkspaceDatabase(workspaceId: string): Promise<string> {
  // A server of its own, because the migrations set the passwords of the services' roles, which all databases of a server share.
  const server = await startTestPostgres();
  onTestFinished(() => server.stop());
  const { url, drop } = await createDatabase(undefined, { serverUrl: server.url });
  onTestFinished(drop);
  await Promise.all(SERVICES_WITH_DATABASE.map((name) => runMigrations(name, url, SERVICE_ROLE_PASSWORD)));
  await queryRows(url, "INSERT INTO quota.workspaces (workspace_id, name, plan) VALUES ($1, $1, 'free')", [
    workspaceId,
  ]);
  await queryRows(
    url,
    `INSERT INTO conversation.bots (workspace_id, bot_id, slug, model, system_prompt, fallback, display)
     VALUES ($1, $2, 'bot', 'builtin:echo', '', '', '{}')`,
    [workspaceId, randomUUID()],
  );
  return url;
}
