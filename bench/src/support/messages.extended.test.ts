import { queryRows } from "@parley/test-support";
import { expect, it } from "vitest";
import { storeTurns } from "./messages.ts";
import { createWorkspaceDatabase } from "./testing/workspace-database.ts";

it("storeTurns gives each workspace the same numbers of ratings, reviews and ungrounded replies", async () => {
  const workspaceId = "first";
  const url = await createWorkspaceDatabase(workspaceId);
  // Ratings repeat every 20 turns, reviews every 40, and ungrounded replies every 3. If storeTurns numbered
  // the turns of all workspaces together, workspaces would differ, because 120 is a multiple of 20, 40 and 3.
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
