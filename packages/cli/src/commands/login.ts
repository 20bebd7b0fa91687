import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { decodeJwt, type JWTPayload } from "jose";
import type { Config } from "../config.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { type Login, readLogin, removeLogin, withLoginLock, writeLogin } from "../login/login-file.ts";
import { type Prompt, revoke, signIn } from "../login/sign-in.ts";
import type { Result } from "../output/result.ts";
import { formatFields } from "../output/table.ts";

const DEFAULT_SCOPE = "openid offline_access";

type Options = { issuer?: string; clientId?: string; scope?: string; audience?: string; resource?: string };

export function addLoginCommands(program: CommandUnknownOpts, context: Context): void {
  program
    .command("login")
    .description("Sign in as a workspace's member.")
    .option("--issuer <url>", "Set the identity provider (default: PARLEY_LOGIN_ISSUER).")
    .option("--client-id <id>", "Set the public client (default: PARLEY_LOGIN_CLIENT_ID).")
    .option("--scope <scopes>", `Set the scopes (default: PARLEY_LOGIN_SCOPE or "${DEFAULT_SCOPE}").`)
    .option("--audience <audience>", "Set the audience to request, for Auth0.")
    .option("--resource <uri>", "Set the resource to request (RFC 8707).")
    .action((options) => context.report(login(context, options)));

  program
    .command("logout")
    .description("Sign out and delete the login.")
    .action(() => context.report(logout(context)));
}

async function login({ config, notice }: Context, options: Options): Promise<Result> {
  const request = {
    issuer: options.issuer ?? config.login.issuer ?? failMissing("--issuer or PARLEY_LOGIN_ISSUER"),
    clientId: options.clientId ?? config.login.clientId ?? failMissing("--client-id or PARLEY_LOGIN_CLIENT_ID"),
    parameters: readParameters(options, config),
  };
  if (!URL.canParse(request.issuer)) throw new CliError("the issuer must be a URL", { exitCode: 2 });
  const showPrompt = ({ url, code }: Prompt) =>
    notice(`Open ${url} and sign in. Check that the page shows the code ${code}.`);
  const signedIn = await signIn(request, showPrompt, notice);
  const { sub = "" } = readClaims(signedIn);
  const { path } = config.login;
  await withLoginLock(path, notice, () => writeLogin(path, signedIn));
  const expiresAt = new Date(signedIn.expiresAt * 1_000).toISOString();
  return {
    json: { subject: sub, expires_at: expiresAt, file: path },
    text: formatFields([
      ["signed in as", sub],
      ["access token until", expiresAt],
      ["file", path],
    ]),
  };
}

/** Deletes the login file, then revokes the login. If the revocation fails, prints the error but does not throw. */
async function logout({ config, notice, printError }: Context): Promise<Result> {
  const { path } = config.login;
  if ((await readLogin(path)) === undefined) return { json: { revoked: false }, text: "You were not signed in.\n" };
  const stored = await withLoginLock(path, notice, async () => {
    const login = await readLogin(path);
    await removeLogin(path);
    return login;
  });
  let isRevoked = false;
  try {
    if (stored !== undefined) isRevoked = await revoke(stored);
  } catch (error) {
    printError(`the login was deleted but not revoked: ${error instanceof Error ? error.message : error}`);
  }
  return { json: { revoked: isRevoked }, text: "Signed out.\n" };
}

function readParameters({ scope, audience, resource }: Options, config: Config): Record<string, string> {
  return {
    scope: scope ?? config.login.scope ?? DEFAULT_SCOPE,
    ...((audience ?? config.login.audience) && { audience: audience ?? config.login.audience ?? "" }),
    ...((resource ?? config.login.resource) && { resource: resource ?? config.login.resource ?? "" }),
  };
}

/**
 * Returns the access token's claims. Throws CliError unless the token is a JWT, because the services accept only JWTs. Some identity
 * providers issue opaque tokens unless an audience is requested.
 */
function readClaims({ accessToken }: Login): JWTPayload {
  try {
    return decodeJwt(accessToken);
  } catch (cause) {
    throw new CliError("the access token is not a JWT: request one with --audience, --resource or --scope", { cause });
  }
}

function failMissing(name: string): never {
  throw new CliError(`${name} is not set`, { exitCode: 2 });
}
