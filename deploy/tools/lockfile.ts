import type { Problems } from "./problems.ts";

/** Lines of the lockfile that say where a package was fetched from, which differs from place to place, or that its authors gave it up. */
export function lockfileProblems(lockfile: string): Problems {
  return lockfile.split("\n").flatMap((line, index) => {
    const place = `pnpm-lock.yaml:${index + 1}`;
    if (/\b(tarball|registry)\b.*:\/\//.test(line))
      return [`${place} names a host; install again with the registry's default settings`];
    return /^\s+deprecated:/.test(line) ? [`${place} names a package that its authors gave up: ${line.trim()}`] : [];
  });
}
