const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** The lowest UUID. As a keyset position, it is before the first row. */
export const NIL_UUID = "00000000-0000-0000-0000-000000000000";

const WORKSPACE_ID = /^[A-Za-z0-9._-]{1,64}$/;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Checks the syntax only. Most RPCs treat a malformed id as an unknown workspace. */
export function isWorkspaceId(text: string): boolean {
  return WORKSPACE_ID.test(text);
}
