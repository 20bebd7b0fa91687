const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** The lowest UUID, the position before the first row of a list. */
export const NIL_UUID = "00000000-0000-0000-0000-000000000000";

const WORKSPACE = /^[A-Za-z0-9._-]{1,64}$/;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Whether a workspace id is well-formed. A malformed id is treated as an unknown workspace. */
export function isWorkspaceId(text: string): boolean {
  return WORKSPACE.test(text);
}
