const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** The lowest UUID. As a keyset position, it is before the first row. */
export const NIL_UUID = "00000000-0000-0000-0000-000000000000";
const WORKSPACE_ID = /^[A-Za-z0-9._-]{1,64}$/;
export const MAX_SLUG_CHARACTERS = 64;
const SLUG = new RegExp(`^[a-z0-9-]{1,${MAX_SLUG_CHARACTERS}}$`);
const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
/** The local part is a dot-atom of RFC 5322. Addresses with quotes, comments or characters beyond ASCII are refused. */
const EMAIL =
  /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@([a-z\d]([a-z\d-]{0,61}[a-z\d])?\.)+[a-z\d-]{2,63}$/i;
const MAX_EMAIL_CHARACTERS = 254;
const MAX_LOCAL_PART = 64;
const TIME = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z$/;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Checks the syntax only. Most RPCs treat a malformed id as an unknown workspace. */
export function isWorkspaceId(text: string): boolean {
  return WORKSPACE_ID.test(text);
}

/** Checks the syntax of a bot's slug. */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}

/** Returns whether a text is a month, "YYYY-MM". */
export function isMonth(text: string): boolean {
  return MONTH.test(text);
}

/** Returns whether a text is a day, "YYYY-MM-DD". */
export function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date reads 30 February as 2 March.
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === text;
}

/** Returns whether a text is a time in UTC, RFC 3339, of the year 1 or later. */
export function isUtcTime(text: string): boolean {
  return TIME.test(text) && !text.startsWith("0000") && isDay(text.slice(0, 10));
}

/** Returns whether a text is one plain e-mail address, such as ada@example.com. */
export function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_CHARACTERS && EMAIL.test(text) && text.indexOf("@") <= MAX_LOCAL_PART;
}

/** Returns whether a text has more than `limit` characters, counted as Unicode code points. */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  // A code point has at most two UTF-16 code units.
  return text.length > limit * 2 || [...text].length > limit;
}
