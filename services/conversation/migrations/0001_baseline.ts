import type { Knex } from "@parley/service-kit";
import { ACCOUNTING } from "./baseline/accounting.ts";
import { BOTS } from "./baseline/bots.ts";
import { EMAILS } from "./baseline/emails.ts";
import { KNOWLEDGE } from "./baseline/knowledge.ts";
import { OPERATIONS } from "./baseline/operations.ts";
import { SESSIONS } from "./baseline/sessions.ts";
import { TURNS } from "./baseline/turns.ts";
import { WEBHOOKS } from "./baseline/webhooks.ts";

export const name = "0001_baseline";

/** Creates the conversation schema. */
export async function up(knex: Knex): Promise<void> {
  for (const sql of [BOTS, KNOWLEDGE, SESSIONS, TURNS, ACCOUNTING, WEBHOOKS, EMAILS, OPERATIONS]) await knex.raw(sql);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP FUNCTION conversation.delete_expired_audit_log_entries(), conversation.prune_turns(text, date, integer);
    DROP TABLE conversation.audit_log, conversation.task_leases,
      conversation.email_messages, conversation.email_recipients,
      conversation.webhook_deliveries, conversation.webhook_endpoints, conversation.usage_events, conversation.events,
      conversation.bot_reply_counts, conversation.reply_counts, conversation.turn_totals, conversation.closed_months, conversation.outbox,
      conversation.refusal_counts, conversation.closed_turns, conversation.edges, conversation.turns,
      conversation.workspace_deletions, conversation.erasures, conversation.messages, conversation.session_notes, conversation.agents, conversation.session_visitors, conversation.sessions,
      conversation.evaluation_runs, conversation.evaluation_cases, conversation.knowledge_embeddings, conversation.knowledge_words,
      conversation.knowledge_chunks, conversation.source_texts, conversation.knowledge_pages, conversation.knowledge_sites,
      conversation.knowledge_sources,
      conversation.tools, conversation.canned_replies, conversation.answers, conversation.moderation_patterns, conversation.bot_logos, conversation.identity_keys, conversation.api_keys, conversation.bots;
  `);
}
