import type { Problems } from "./problems.ts";

/** Returns a problem for each line of the lockfile with a registry or tarball URL, because such URLs depend on the machine. */
export function lockfileProblems(lockfile: string): Problems {
  return lockfile
    .split("\n")
    .flatMap((line, index) =>
      /\b(tarball|registry)\b.*:\/\//.test(line)
        ? [`pnpm-lock.yaml:${index + 1} contains a host; install again with the default registry settings`]
        : [],
    );
}
