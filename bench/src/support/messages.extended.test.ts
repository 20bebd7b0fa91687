import { randomUUID } from "node:crypto";
import { createDatabase, queryRows, startTestPostgres } from "@parley/test-support";
import { expect, it, onTestFinished } from "vitest";
import { runMigrations, SERVICE_ROLE_PASSWORD, SERVICES_WITH_DATABASE } from "../../../tests/system/processes.ts";
import { storeTurns } from "./messages.ts";

it("gives each workspace the same numbers of ratings, reviews and ungrounded replies", async () => {
  // A server of its own, because the migrations set the passwords of the services' roles, which all databases of a server share.
  const server = await startTestPostgres();
  onTestFinished(() => server.stop());
  const { url, drop } = await createDatabase(undefined, { serverUrl: server.url });
  onTestFinished(drop);
  await Promise.all(SERVICES_WITH_DATABASE.map((name) => runMigrations(name, url, SERVICE_ROLE_PASSWORD)));
  const workspaceId = "first";
  await queryRows(url, "INSERT INTO quota.workspaces (workspace_id, name, plan) VALUES ($1, $1, 'free')", [
    workspaceId,
  ]);
  await queryRows(
    url,
    `INSERT INTO conversation.bots (workspace_id, bot_id, slug, model, system_prompt, fallback, display)
     VALUES ($1, $2, 'bot', 'builtin:echo', '', '', '{}')`,
    [workspaceId, randomUUID()],
  );
  // A multiple of 20, 40 and 3, the intervals of the ratings, the reviews and the ungrounded replies.
  const workspaces = 120;
  await storeTurns(url, { workspaceId, turns: workspaces * 40, workspaces });
  const rows = await queryRows(
    url,
    `SELECT count(DISTINCT workspace_id)::integer AS workspaces, up, down, good, bad, ungrounded
     FROM (
       SELECT workspace_id, sum(ratings_up)::integer AS up, sum(ratings_down)::integer AS down,
              sum(reviews_good)::integer AS good, sum(reviews_bad)::integer AS bad
       FROM conversation.sessions GROUP BY 1
     ) session
     JOIN (
       SELECT workspace_id, count(*) FILTER (WHERE NOT grounded)::integer AS ungrounded FROM conversation.turns GROUP BY 1
     ) turn USING (workspace_id)
     GROUP BY up, down, good, bad, ungrounded`,
  );
  expect(rows).toEqual([{ workspaces, up: 6, down: 2, good: 1, bad: 1, ungrounded: 14 }]);
});
