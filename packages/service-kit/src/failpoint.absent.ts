import type * as present from "./failpoint.ts";

// What images have in place of failpoint.ts: the same functions, and nothing that a process could be made to fail with.

export const armFailpoints: typeof present.armFailpoints = (list) => {
  if (list) throw new Error("this build has no failpoints");
};

export const failpoint: typeof present.failpoint = () => undefined;
