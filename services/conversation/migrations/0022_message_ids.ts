import type { Knex } from "@parley/service-kit";

export const name = "0022_message_ids";

/**
 * Adds sessions.last_message_id, the id of a session's last message. OpenTurn then derives a session's next message ids from it instead of
 * taking them from the sequence conversation.message_ids. Moves the sequence above every id that OpenTurn can derive.
 *
 * The previous release takes ids from the sequence and does not set the new column. If it opens a turn, the column is set to the mark
 * 6755399441055744: in a new session by the default, in an older session by the trigger. OpenTurn takes the ids of a marked session from the
 * sequence, so that they keep rising. Once the previous release no longer runs, the trigger never fires.
 *
 * Existing sessions have NULL until their next turn. For such a session, OpenTurn chooses a random first id. If a message of the session already has an
 * id of at least 2^50, OpenTurn takes an id from the sequence instead.
 */
export async function up(knex: Knex): Promise<void> {
  // 6755399441055744 is 2^52 + 2^51: see turns/message-ids.ts. The first statement waits for every running OpenTurn. So each call stores its
  // turn, with an id of the sequence, entirely before the migration or entirely after it.
  await knex.raw(`
    ALTER TABLE conversation.sessions ADD COLUMN last_message_id bigint;
    ALTER TABLE conversation.sessions ALTER COLUMN last_message_id SET DEFAULT 6755399441055744;

    CREATE FUNCTION conversation.use_message_sequence() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.last_message_id := 6755399441055744;
      RETURN NEW;
    END
    $$;
    CREATE TRIGGER use_message_sequence BEFORE UPDATE OF last_activity_at ON conversation.sessions
      FOR EACH ROW WHEN (NEW.last_message_id IS NOT DISTINCT FROM OLD.last_message_id)
      EXECUTE FUNCTION conversation.use_message_sequence();

    SELECT setval('conversation.message_ids', greatest(last_value, 6755399441055743)) FROM conversation.message_ids;
  `);
}

/** Leaves the sequence where it is. If it were moved back, a session's new messages would get lower ids and sort before its earlier messages. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER use_message_sequence ON conversation.sessions;
    DROP FUNCTION conversation.use_message_sequence();
    ALTER TABLE conversation.sessions DROP COLUMN last_message_id;
  `);
}
