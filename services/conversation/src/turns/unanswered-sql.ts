const DECLINED = "finish_detail = 'declined'";

/**
 * SQL condition: a done turn's question was not answered from knowledge, because its prompt had no passage or the model said that it has no answer.
 * Null or false for messages that ask nothing. The index turns_unanswered has the same condition.
 */
export const IS_UNANSWERED = `(NOT grounded OR (grounded AND ${DECLINED}))`;

/** SQL condition: a done turn's question was answered from a passage. */
export const IS_ANSWERED = `(grounded AND ${DECLINED} IS NOT TRUE)`;

/** SQL condition: a done turn's prompt had a passage, and the model said that it has no answer. */
export const IS_FOUND_BUT_DECLINED = `(grounded AND ${DECLINED})`;

/** SQL condition: a done turn's question was answered, and the reply cites a passage. */
export const IS_CITED = `(cited AND ${IS_ANSWERED})`;

/** SQL expression: whether the model said that it has no answer. */
export const IS_DECLINED = `(${DECLINED} IS TRUE)`;
