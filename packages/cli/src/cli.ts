import { Command, CommanderError } from "@commander-js/extra-typings";
import manifest from "../package.json" with { type: "json" };
import { type CallAdmin, createAdminCaller } from "./admin/call.ts";
import { type AdminTarget, findTarget } from "./admin/target.ts";
import { addAuditLogCommand } from "./commands/audit-log.ts";
import { addAnswerCommands } from "./commands/bot/answer.ts";
import { addBotCommands } from "./commands/bot/bot.ts";
import { addKeyCommands } from "./commands/bot/key.ts";
import { addModerationCommands } from "./commands/bot/moderation.ts";
import { addProviderCommands } from "./commands/bot/provider.ts";
import { addToolCommands } from "./commands/bot/tool.ts";
import { addCannedReplyCommands } from "./commands/canned-reply.ts";
import { addCompletionCommand } from "./commands/completion.ts";
import { addConversationCommands } from "./commands/conversation/conversation.ts";
import { addCreditCommands } from "./commands/credit.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addEmailCommands } from "./commands/email.ts";
import { addExplainCommand } from "./commands/explain.ts";
import { addIdentityKeyCommands } from "./commands/identity-key.ts";
import { addKnowledgeCommands } from "./commands/knowledge/knowledge.ts";
import { addLoginCommands } from "./commands/login.ts";
import { addMigrateCommand } from "./commands/migrate.ts";
import { addPlanCommands } from "./commands/plan.ts";
import { addRefusalsCommand } from "./commands/refusals.ts";
import { addShardsCommands } from "./commands/shards.ts";
import { addTokenCommand } from "./commands/token.ts";
import { addTopCommand } from "./commands/top.ts";
import { addUsageCommand } from "./commands/usage/usage.ts";
import { addUsageAuditCommand } from "./commands/usage-audit.ts";
import { addWebhookCommands } from "./commands/webhook/webhook.ts";
import { addWorkspaceCommands } from "./commands/workspace.ts";
import type { Config } from "./config.ts";
import type { Context } from "./context.ts";
import { CliError } from "./errors.ts";
import { printable } from "./output/printable.ts";
import { type Streams, writeResult } from "./output/result.ts";

const EPILOGUE = `
Set PARLEY_CONVERSATION_URL, PARLEY_QUOTA_URL, PARLEY_LLM_URL and ADMIN_TOKEN to administer a remote installation.
Without ADMIN_TOKEN, members of a workspace sign in with parley login.
If none of the URLs is set, the CLI uses the installation in DATA_DIR (default .parley) on this machine.
Run parley GROUP COMMAND --help for a command's options.`;

/** Runs one command. Returns its exit code: 0 for success, 1 for a failure, 2 for a usage error. */
export async function runCli(args: readonly string[], config: Config, streams: Streams): Promise<number> {
  const { stdout, stderr } = streams;
  let exitCode = 0;
  let target: Promise<AdminTarget> | undefined;
  let adminCaller: Promise<CallAdmin> | undefined;
  const program = createProgram({ stdout, stderr });
  const context: Context = {
    config,
    target: () => {
      target ??= findTarget(config, context.notice);
      return target;
    },
    callAdmin: async (service, call) => {
      adminCaller ??= context.target().then(createAdminCaller);
      return (await adminCaller)(service, call);
    },
    report: async (pending) => {
      const result = await pending;
      writeResult(result, context.isJsonOutput(), stdout);
      exitCode = result.exitCode ?? 0;
    },
    progress: (line) => {
      if (!program.opts().json) stderr.write(`${line}\n`);
    },
    notice: (line) => stderr.write(`${printable(line)}\n`),
    printError: (message) => stderr.write(`parley: ${printable(message)}\n`),
    isJsonOutput: () => program.opts().json === true,
    stdout,
    stdin: streams.stdin,
  };
  addWorkspaceCommands(program, context);
  addPlanCommands(program, context);
  addCreditCommands(program, context);
  addBotCommands(program, context);
  addKeyCommands(program, context);
  addIdentityKeyCommands(program, context);
  addModerationCommands(program, context);
  addAnswerCommands(program, context);
  addCannedReplyCommands(program, context);
  addKnowledgeCommands(program, context);
  addToolCommands(program, context);
  addConversationCommands(program, context);
  addWebhookCommands(program, context);
  addEmailCommands(program, context);
  addUsageCommand(program, context);
  addUsageAuditCommand(program, context);
  addAuditLogCommand(program, context);
  addProviderCommands(program, context);
  addExplainCommand(program, context);
  addRefusalsCommand(program, context);
  addLoginCommands(program, context);
  addTokenCommand(program, context);
  addTopCommand(program, context);
  addDoctorCommand(program, context);
  addMigrateCommand(program, context);
  addShardsCommands(program, context);
  addCompletionCommand(program, context);
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CliError) {
      context.printError(error.message);
      return error.exitCode;
    }
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    // If the subcommand is missing, Commander has already written the help.
    if (error.code !== "commander.help")
      stderr.write(`parley: ${formatUsageProblem(error)}; run ${findHelpCommand(program, args)}\n`);
    return 2;
  }
}

function createProgram({ stdout, stderr }: Streams) {
  return new Command("parley")
    .description("Administer a Parley installation.")
    .option("--json", "Write one JSON document to stdout.")
    .version(manifest.version, "-V, --version", "Print the version.")
    .helpOption("-h, --help", "Show help for a command.")
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

function formatUsageProblem(error: CommanderError): string {
  return printable(
    error.message
      .replace(/^error: /, "")
      .replaceAll("\n", " ")
      .replace(/\.$/, ""),
  );
}

/** Returns the help command for the arguments, such as `parley key create --help`. */
function findHelpCommand(program: Pick<Command, "commands">, args: readonly string[]): string {
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
