import type { Migration } from "@parley/service-kit";
import * as bots from "./0001_bots.ts";
import * as knowledge from "./0002_knowledge.ts";
import * as conversations from "./0003_conversations.ts";
import * as settling from "./0004_settling.ts";
import * as tools from "./0005_tools.ts";
import * as noStatistics from "./0006_no_statistics_of_content.ts";
import * as turnsByMessage from "./0007_turns_by_message.ts";
import * as retrieval from "./0008_retrieval.ts";
import * as embeddings from "./0009_embeddings.ts";
import * as taskLeases from "./0010_task_leases.ts";
import * as turnsByClose from "./0011_turns_by_close.ts";
import * as turnKeys from "./0012_turn_keys.ts";
import * as turnsByKey from "./0013_turns_by_key.ts";
import * as edgeCalls from "./0014_edge_calls.ts";
import * as sessionCounts from "./0015_session_counts.ts";
import * as sessionLists from "./0016_session_lists.ts";
import * as erasures from "./0017_erasures.ts";
import * as turnsByOpen from "./0018_turns_by_open.ts";
import * as messageIds from "./0022_message_ids.ts";
import * as turnsByMessageId from "./0023_turns_by_message_id.ts";
import * as changes from "./0024_changes.ts";
import * as months from "./0025_months.ts";
import * as uncountedTurns from "./0026_uncounted_turns.ts";
import * as groundedTurns from "./0027_grounded_turns.ts";
import * as replyCounts from "./0028_reply_counts.ts";
import * as workspaceDeletions from "./0030_workspace_deletions.ts";
import * as keyUses from "./0031_key_uses.ts";
import * as reviews from "./0032_reviews.ts";
import * as sessionsByReview from "./0033_sessions_by_review.ts";
import * as botReplyCounts from "./0034_bot_reply_counts.ts";
import * as unansweredQuestions from "./0035_unanswered_questions.ts";
import * as evaluations from "./0036_evaluations.ts";
import * as wordFrequencies from "./0037_word_frequencies.ts";
import * as pendingLists from "./0038_pending_lists.ts";
import * as finishDetails from "./0039_finish_details.ts";
import * as sessionVisitors from "./0041_session_visitors.ts";
import * as historyStarts from "./0042_history_starts.ts";
import * as unpaidTurns from "./0043_unpaid_turns.ts";
import * as turnsByUnpaidDay from "./0044_turns_by_unpaid_day.ts";
import * as refusalCounts from "./0047_refusal_counts.ts";
import * as unansweredTurns from "./0048_unanswered_turns.ts";
import * as ratingReasons from "./0052_rating_reasons.ts";
import * as timeZones from "./0053_time_zones.ts";
import * as sourceTexts from "./0054_source_texts.ts";
import * as deletedBots from "./0055_deleted_bots.ts";
import * as keyNames from "./0056_key_names.ts";
import * as botLogos from "./0057_bot_logos.ts";

/** Every migration of the conversation schema, oldest first. */
export const migrations: readonly Migration[] = [
  bots,
  knowledge,
  conversations,
  settling,
  tools,
  noStatistics,
  turnsByMessage,
  retrieval,
  embeddings,
  taskLeases,
  turnsByClose,
  turnKeys,
  turnsByKey,
  edgeCalls,
  sessionCounts,
  sessionLists,
  erasures,
  turnsByOpen,
  messageIds,
  turnsByMessageId,
  changes,
  months,
  uncountedTurns,
  groundedTurns,
  replyCounts,
  workspaceDeletions,
  keyUses,
  reviews,
  sessionsByReview,
  botReplyCounts,
  unansweredQuestions,
  evaluations,
  wordFrequencies,
  pendingLists,
  finishDetails,
  sessionVisitors,
  historyStarts,
  unpaidTurns,
  turnsByUnpaidDay,
  refusalCounts,
  unansweredTurns,
  ratingReasons,
  timeZones,
  sourceTexts,
  deletedBots,
  keyNames,
  botLogos,
];
