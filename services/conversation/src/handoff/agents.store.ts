import type { Database } from "@parley/service-kit";
import type { Agent } from "./handoff.store.ts";

export type Colleague = Agent & { isHere: boolean };

const FORGET_AFTER = "interval '30 days'";
const HERE_FOR = "interval '30 s'";
/** An open inbox reports its agent every 3 s. */
const STORE_EVERY = "interval '10 s'";
const MAX_COLLEAGUES = 200;

/** Stores that the agent's inbox is open. */
export async function seeAgent(database: Database, workspaceId: string, { id, name }: Agent): Promise<void> {
  await database.query({
    name: "see_agent",
    text: `
      INSERT INTO conversation.agents (workspace_id, agent_id, name, seen_at)
      SELECT $1, $2, $3, now()
      WHERE NOT EXISTS (
        SELECT FROM conversation.agents
        WHERE workspace_id = $1 AND agent_id = $2 AND name = $3 AND seen_at > now() - ${STORE_EVERY}
      )
      ON CONFLICT (workspace_id, agent_id) DO UPDATE SET name = excluded.name, seen_at = excluded.seen_at`,
    values: [workspaceId, id, name],
  });
}

/** Lists the agents whose inbox is open or was lately, the latest ones, by name. */
export async function listColleagues(database: Database, workspaceId: string): Promise<Colleague[]> {
  const { rows } = await database.query<Colleague>({
    name: "list_colleagues",
    text: `
      SELECT id, name, "isHere" FROM (
        SELECT agent_id AS id, name, seen_at > now() - ${HERE_FOR} AS "isHere" FROM conversation.agents
        WHERE workspace_id = $1 AND seen_at > now() - ${FORGET_AFTER} ORDER BY seen_at DESC LIMIT ${MAX_COLLEAGUES}
      ) latest
      ORDER BY lower(name), id`,
    values: [workspaceId],
  });
  return rows;
}

/** Deletes the agents of all workspaces whose inbox was not open for long. The table is small, and needs no index for it. */
export async function forgetAgents(database: Database): Promise<void> {
  await database.query(`DELETE FROM conversation.agents WHERE seen_at <= now() - ${FORGET_AFTER}`);
}
