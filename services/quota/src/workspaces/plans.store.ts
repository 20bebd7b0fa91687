import type { Database } from "@parley/service-kit";

export type Plan = {
  name: string;
  cap: number;
  overage: number;
  knowledgeDocuments: number;
  knowledgeCharacters: number;
};

const COLUMNS = `plan AS name, monthly_cap AS cap, monthly_overage AS overage, knowledge_documents AS "knowledgeDocuments", knowledge_characters AS "knowledgeCharacters"`;

/** Lists all plans, smallest cap first. */
export async function listPlans(database: Database): Promise<Plan[]> {
  const { rows } = await database.query<Plan>(`SELECT ${COLUMNS} FROM quota.plans ORDER BY monthly_cap, plan`);
  return rows;
}

export type KnowledgeLimits = { documents: number | undefined; characters: number | undefined };

/** Changes the limits that are given. Returns undefined if there is no such plan. */
export async function updateKnowledgeLimits(
  database: Database,
  plan: string,
  { documents, characters }: KnowledgeLimits,
): Promise<Plan | undefined> {
  const { rows } = await database.query<Plan>(
    `UPDATE quota.plans
     SET knowledge_documents = coalesce($2, knowledge_documents), knowledge_characters = coalesce($3, knowledge_characters)
     WHERE plan = $1 RETURNING ${COLUMNS}`,
    [plan, documents, characters],
  );
  return rows[0];
}

/** Sets how many messages of a month a plan permits as overage. Returns undefined if there is no such plan. */
export async function updateOverage(database: Database, plan: string, overage: number): Promise<Plan | undefined> {
  const { rows } = await database.query<Plan>(
    `UPDATE quota.plans SET monthly_overage = $2 WHERE plan = $1 RETURNING ${COLUMNS}`,
    [plan, overage],
  );
  return rows[0];
}
