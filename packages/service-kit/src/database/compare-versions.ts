/** Returns a negative number if `a` is older than `b`. A pre-release, such as 1.2.0-rc.1, is older than its release. */
export function compareVersions(a: string, b: string): number {
  const [[releaseA, preReleaseA], [releaseB, preReleaseB]] = [splitVersion(a), splitVersion(b)];
  const compare = (x: string, y: string) => x.localeCompare(y, "en", { numeric: true });
  return (
    compare(releaseA, releaseB) ||
    Number(preReleaseA === "") - Number(preReleaseB === "") ||
    compare(preReleaseA, preReleaseB)
  );
}

/** Splits a version at its first hyphen: 1.2.0-rc.1 into 1.2.0 and rc.1. */
function splitVersion(version: string): [release: string, preRelease: string] {
  const [release = "", ...preRelease] = version.split("-");
  return [release, preRelease.join("-")];
}
