import { fileURLToPath } from "node:url";

/** Where the chart as rendered with a values file is kept, for its changes to be seen in a review. */
export function golden(name: string): string {
  return fileURLToPath(new URL(`./golden/${name}.yaml`, import.meta.url));
}
