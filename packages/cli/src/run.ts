// Runs commands without a process of their own. The package's main export does not load the commands.
export { runCli } from "./cli.ts";
export { readConfig } from "./config.ts";
