import { Command, CommanderError } from "@commander-js/extra-typings";
import { type Admin, connectAdmin } from "./admin/call.ts";
import { type AdminTarget, findTarget } from "./admin/target.ts";
import { addAuditCommand } from "./commands/audit.ts";
import { addBotCommands } from "./commands/bot.ts";
import { addConversationCommands } from "./commands/conversation.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addExplainCommand } from "./commands/explain.ts";
import { addKeyCommands } from "./commands/key.ts";
import { addKnowledgeCommands } from "./commands/knowledge.ts";
import { addMigrateCommand } from "./commands/migrate.ts";
import { addModerationCommands } from "./commands/moderation.ts";
import { addProviderCommands } from "./commands/provider.ts";
import { addTokenCommand } from "./commands/token.ts";
import { addToolCommands } from "./commands/tool.ts";
import { addTopCommand } from "./commands/top.ts";
import { addUsageCommand } from "./commands/usage.ts";
import { addWorkspaceCommands } from "./commands/workspace.ts";
import type { Config } from "./config.ts";
import type { Context } from "./context.ts";
import { CliError } from "./errors.ts";
import { printable } from "./output/printable.ts";
import { type Streams, writeResult } from "./output/result.ts";

const EPILOGUE = `
Without PARLEY_CONVERSATION_URL, PARLEY_QUOTA_URL, PARLEY_LLM_URL and ADMIN_TOKEN the Parley of this machine
is meant, found by DATA_DIR (.parley). parley GROUP COMMAND --help tells a command's options.`;

/** Runs one command. Returns its exit code: 0, 1 when it failed, 2 when it was written wrongly. */
export async function runCli(args: readonly string[], config: Config, streams: Streams): Promise<number> {
  const { stdout, stderr } = streams;
  let exitCode = 0;
  let found: Promise<AdminTarget> | undefined;
  let connected: Promise<Admin> | undefined;
  const program = createProgram({ stdout, stderr });
  const context: Context = {
    config,
    target: () => {
      found ??= findTarget(config);
      return found;
    },
    admin: async (service, work) => {
      connected ??= context.target().then(connectAdmin);
      return (await connected)(service, work);
    },
    report: async (pending) => {
      const result = await pending;
      writeResult(result, context.asJson(), stdout);
      exitCode = result.exitCode ?? 0;
    },
    progress: (line) => {
      if (!program.opts().json) stderr.write(`${line}\n`);
    },
    warn: (message) => stderr.write(`parley: ${printable(message)}\n`),
    asJson: () => program.opts().json === true,
    stdout,
    stdin: streams.stdin,
  };
  addWorkspaceCommands(program, context);
  addBotCommands(program, context);
  addKeyCommands(program, context);
  addModerationCommands(program, context);
  addKnowledgeCommands(program, context);
  addToolCommands(program, context);
  addConversationCommands(program, context);
  addUsageCommand(program, context);
  addAuditCommand(program, context);
  addProviderCommands(program, context);
  addExplainCommand(program, context);
  addTokenCommand(program, context);
  addTopCommand(program, context);
  addDoctorCommand(program, context);
  addMigrateCommand(program, context);
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CliError) {
      context.warn(error.message);
      return error.exitCode;
    }
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    // Help that stands in for a missing subcommand has been written by then.
    if (error.code !== "commander.help")
      stderr.write(`parley: ${usageProblem(error)}; see ${helpFor(program, args)}\n`);
    return 2;
  }
}

function createProgram({ stdout, stderr }: Streams) {
  return new Command("parley")
    .description("Administers Parley: workspaces, bots, keys, knowledge, conversations and the books.")
    .option("--json", "write one JSON document to stdout and nothing else")
    .version("0.1.0", "-V, --version", "tell the version")
    .helpOption("-h, --help", "tell what a command does and takes")
    .helpCommand(false)
    .addHelpText("after", EPILOGUE)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: () => undefined,
    })
    .exitOverride();
}

function usageProblem(error: CommanderError): string {
  return printable(
    error.message
      .replace(/^error: /, "")
      .replaceAll("\n", " ")
      .replace(/\.$/, ""),
  );
}

/** `parley key create --help` for whatever was wrong about `parley key create …`. */
function helpFor(program: Pick<Command, "commands">, args: readonly string[]): string {
  const path: string[] = [];
  let commands = program.commands;
  for (const word of args) {
    const command = commands.find((each) => each.name() === word);
    if (!command) continue;
    path.push(word);
    commands = command.commands;
  }
  return ["parley", ...path, "--help"].join(" ");
}
