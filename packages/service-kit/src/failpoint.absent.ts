import type * as present from "./failpoint.ts";

// Replaces failpoint.ts in container images, so that failpoints cannot be armed in production.

export const armFailpoints: typeof present.armFailpoints = (list) => {
  if (list) throw new Error("this build has no failpoints");
};

export const failpoint: typeof present.failpoint = () => undefined;
