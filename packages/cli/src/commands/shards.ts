import { resolve } from "node:path";
import { Argument, type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { Context } from "../context.ts";
import type { Result } from "../output/result.ts";
import { CONFIG_FILES, type ConfigFile, createConfigFile } from "../shards/pgdog-config.ts";
import { readRouterAdminUrls, requireSettings, SCHEMAS, type Settings } from "../shards/settings.ts";
import { refuseEmpty, wholeNumberParser } from "./options.ts";

const MAX_SHARDS = 64;

const SETTINGS_HELP = `
The commands use the variables of parley migrate (DATABASE_URL, which leads to the router, DATABASE_SHARDS, DATABASE_ROLE_PREFIX and the
passwords of the services' roles) and PARLEY_SHARD_SERVERS, the servers' URLs for superusers:
  a=postgres://postgres:PASSWORD@postgres-a.example.com:5432
  b=postgres://postgres:PASSWORD@postgres-b.example.com:5432
PARLEY_SHARD_SERVERS_FILE names a file with these lines instead. The servers and the router must reach each other at these addresses.`;

export function addShardsCommands(program: CommandUnknownOpts, context: Context): void {
  const group = program
    .command("shards")
    .description("Operate databases behind a sharding router.")
    .addHelpText("after", SETTINGS_HELP);
  addPlanCommand(group, context);
  addInitCommand(group, context);
  addStatusCommand(group, context);
  addConfigCommand(group, context);
  addCheckCommand(group, context);
  addMoveCommand(group, context);
  addAdoptCommand(group, context);
}

// The actions import what they need, because pg loads slowly and the other commands do not use it.

function addPlanCommand(group: CommandUnknownOpts, { config, report }: Context): void {
  group
    .command("plan")
    .description("Show what init creates, and the connections.")
    .option("--shards <count>", "Plan this many shards (default: DATABASE_SHARDS).", wholeNumberParser(2, MAX_SHARDS))
    .option("--servers <names>", "Plan for these servers, without connecting.", parseNames)
    .addOption(poolSizeOption())
    .addOption(aliasPoolSizeOption())
    .addOption(
      new Option("--routers <count>", "Set the number of routers.").argParser(wholeNumberParser(1, 100)).default(2),
    )
    .addHelpText("after", SETTINGS_HELP)
    .action(({ shards, servers, ...pools }) =>
      report(
        (async () => {
          const { placeShards, reportPlan } = await import("../shards/plan.ts");
          if (servers !== undefined) {
            const plan = placeShards(
              { database: "parley", shardCount: shards ?? Math.max(2, config.shards.count), servers },
              new Map(),
            );
            const { rolePrefix, roleSuffix } = config.shards;
            const roles = SCHEMAS.map((schema) => `${rolePrefix}${schema}${roleSuffix}`);
            return reportPlan(plan, roles, pools);
          }
          const settings = requireSettings(withShardCount(config, shards));
          const { planShards } = await import("../shards/init.ts");
          return reportPlan(await planShards(settings), listRoles(settings), pools);
        })(),
      ),
    );
}

const withShardCount = (config: Context["config"], count: number | undefined) => ({
  ...config,
  shards: { ...config.shards, ...(count !== undefined && { count }) },
});

const listRoles = ({ administrator, roleOf }: Settings) => [administrator.user, ...SCHEMAS.map(roleOf)];

function addInitCommand(group: CommandUnknownOpts, { config, progress, report }: Context): void {
  group
    .command("init")
    .description("Create the administrator and the shards' databases.")
    .option("--vector", "Also create the extension vector.")
    .addHelpText(
      "after",
      `
Repeating this command is safe: it creates only what is missing. parley migrate then creates the services' roles and the schemas.${SETTINGS_HELP}`,
    )
    .action(({ vector = false }) =>
      report(
        (async () => {
          const { initShards } = await import("../shards/init.ts");
          return initShards(requireSettings(config), { extensions: vector ? ["vector"] : [], progress });
        })(),
      ),
    );
}

function addStatusCommand(group: CommandUnknownOpts, { config, report }: Context): void {
  group
    .command("status")
    .description("Show each shard's server, size and activity.")
    .addHelpText("after", `\nExits 1 if a shard is not available.${SETTINGS_HELP}`)
    .action(() =>
      report(
        (async () => {
          const { reportStatus } = await import("../shards/status.ts");
          return reportStatus(requireSettings(config));
        })(),
      ),
    );
}

function addConfigCommand(group: CommandUnknownOpts, { config, report }: Context): void {
  group
    .command("config")
    .description("Print a file of the router's configuration.")
    .addArgument(new Argument("<file>", "Choose PgDog's files or its chart's values.").choices(CONFIG_FILES))
    .addOption(poolSizeOption())
    .addOption(aliasPoolSizeOption())
    .addHelpText(
      "after",
      `
pgdog.toml and values.yaml contain no password. users.toml contains the variables' names instead: replace them with envsubst.${SETTINGS_HELP}`,
    )
    .action((file, pools) => report(printConfig(requireSettings(config), file, pools)));
}

async function printConfig(
  settings: Settings,
  file: ConfigFile,
  pools: { poolSize: number; aliasPoolSize: number },
): Promise<Result> {
  const { requirePlacements } = await import("../shards/survey.ts");
  const content = createConfigFile(file, settings, await requirePlacements(settings), pools);
  return { json: { file, content }, text: content };
}

function addCheckCommand(group: CommandUnknownOpts, { config, report }: Context): void {
  group
    .command("check")
    .description("Check the router and every shard.")
    .addHelpText(
      "after",
      `
Checks strict mode, the aliases, the ids, a sample of workspaces, the schemas and the usage accounting. Reads each shard's whole usage ledger.
Exits 1 if it finds a problem.${SETTINGS_HELP}`,
    )
    .action(() =>
      report(
        (async () => {
          const { checkShards } = await import("../shards/check.ts");
          return checkShards(requireSettings(config), config.rolePasswords.quota);
        })(),
      ),
    );
}

function addMoveCommand(group: CommandUnknownOpts, { config, progress, report }: Context): void {
  group
    .command("move")
    .description("Move a shard to another server.")
    .addArgument(
      new Argument("<shard>", "Choose the shard by its number.").argParser(wholeNumberParser(0, MAX_SHARDS - 1)),
    )
    .requiredOption("--to <server>", "Choose the server, by its name.", refuseEmpty)
    .option("--config-file <path>", "Write the router's new configuration there.", refuseEmpty)
    .option("--reload <command>", "Run this to apply the new configuration.", refuseEmpty)
    .addOption(fenceTimeoutOption())
    .addOption(new Option("--dry-run", "Check the move without changing anything.").conflicts("cancel"))
    .option("--cancel", "Undo a move that has not switched yet.")
    .addHelpText(
      "after",
      `
Visitors of the shard wait from the step "fenced" to the step "routed". If the command is interrupted, run it again: it continues. The state is in the
target's database. The path of --config-file is a pgdog.toml, or values of PgDog's chart if it ends in .yaml. PARLEY_ROUTER_ADMIN_URLS are the
admin databases of all routers, in which the command runs RELOAD. Do not run migrations during a move.${SETTINGS_HELP}`,
    )
    .action((shard, { to, configFile, reload, fenceTimeout, dryRun = false, cancel = false }) =>
      report(
        (async () => {
          const settings = requireSettings(config);
          const { cancelMove, describeMove, moveShard } = await import("../shards/move.ts");
          if (dryRun) return describeMove(settings, shard, to);
          if (cancel) return cancelMove(settings, shard, to);
          return moveShard(settings, shard, to, {
            config,
            progress,
            routers: {
              configFile: configFile && resolve(config.filesDir, configFile),
              reload,
              adminUrls: readRouterAdminUrls(config),
              systemVariables: config.systemVariables,
              progress,
            },
            fenceTimeoutMs: fenceTimeout * 1_000,
          });
        })(),
      ),
    );
}

function addAdoptCommand(group: CommandUnknownOpts, { config, progress, report }: Context): void {
  group
    .command("adopt")
    .description("Make shards of an existing single database.")
    .requiredOption("--from <server>", "Choose the database's server, by its name.", refuseEmpty)
    .option("--reload <command>", "Run this to switch the services.", refuseEmpty)
    .addOption(fenceTimeoutOption())
    .addOption(new Option("--dry-run", "Check the adoption without changing anything.").conflicts("cancel"))
    .option("--cancel", "Undo an adoption that has not switched yet.")
    .addHelpText(
      "after",
      `
The database has the name of the sharded database. The shards must exist, be migrated and be empty, and the router must lead to them. All visitors
wait from the step "fenced" until the services use the router. If the command is interrupted, run it again: it continues. The state is in the
database of shard 0. Do not run migrations during an adoption.${SETTINGS_HELP}`,
    )
    .action(({ from, reload, fenceTimeout, dryRun = false, cancel = false }) =>
      report(
        (async () => {
          const settings = requireSettings(config);
          const { adoptDatabase, cancelAdoption, describeAdoption } = await import("../shards/adopt.ts");
          if (cancel) return cancelAdoption(settings, from);
          return (dryRun ? describeAdoption : adoptDatabase)(settings, from, {
            quotaPassword: config.rolePasswords.quota,
            systemVariables: config.systemVariables,
            progress,
            reload,
            fenceTimeoutMs: fenceTimeout * 1_000,
          });
        })(),
      ),
    );
}

function fenceTimeoutOption() {
  return new Option("--fence-timeout <seconds>", "Reopen the database if catching up takes longer.")
    .argParser(wholeNumberParser(1, 3_600))
    .default(30);
}

function poolSizeOption() {
  return new Option("--pool-size <n>", "Set a role's connections to a shard.")
    .argParser(wholeNumberParser(1, 1_000))
    .default(5);
}

function aliasPoolSizeOption() {
  return new Option("--alias-pool-size <n>", "Set a role's connections to an alias.")
    .argParser(wholeNumberParser(1, 1_000))
    .default(2);
}

function parseNames(text: string): string[] {
  const names = refuseEmpty(text).split(",");
  if (names.includes("") || new Set(names).size < names.length)
    throw new InvalidArgumentError('Write different names, like "a,b".');
  return names;
}
