import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  parseSearchWith,
  redirect,
  stringifySearchWith,
} from "@tanstack/react-router";
import type { ConversationFilters } from "./api/conversations.ts";
import { SESSION_QUERY } from "./api/session.ts";
import { SignedOutError } from "./api/session-fetch.ts";
import { ScreenError, ScreenLoading } from "./components/states.tsx";
import { findHome } from "./navigation.ts";
import { queryClient } from "./query-client.ts";
import { NotFound } from "./screens/not-found.tsx";
import { Shell } from "./shell.tsx";

const rootRoute = createRootRoute();

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in",
  validateSearch: (search): { error?: string; return_to?: string; signed_out?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/sign-in.tsx"), "SignIn"),
});

const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/signed-in",
  component: lazyRouteComponent(() => import("./screens/signed-in.tsx"), "SignedIn"),
});

const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "shell",
  component: Shell,
  beforeLoad: async ({ location }) => {
    try {
      await queryClient.ensureQueryData(SESSION_QUERY);
    } catch (error) {
      if (!(error instanceof SignedOutError)) throw error;
      const isHome = location.pathname === "/";
      throw redirect({ to: "/sign-in", search: isHome ? {} : { return_to: location.href } });
    }
  },
  pendingComponent: ScreenLoading,
  errorComponent: ScreenError,
});

const homeRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/",
  beforeLoad: async () => {
    const { role } = await queryClient.ensureQueryData(SESSION_QUERY);
    throw redirect({ to: findHome(role)?.to ?? "/overview" });
  },
});

const botsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/bots",
  component: lazyRouteComponent(() => import("./screens/bots.tsx"), "Bots"),
});

const botRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/bots/$slug",
  component: lazyRouteComponent(() => import("./screens/bot-editor.tsx"), "BotEditor"),
});

const knowledgeRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/knowledge",
  validateSearch: (search): { bot?: string; question?: string; title?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/knowledge.tsx"), "Knowledge"),
});

const documentRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/knowledge/document",
  validateSearch: (search): { bot?: string; name?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/document.tsx"), "Document"),
});

const answersRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/answers",
  validateSearch: (search): { bot?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/answers.tsx"), "Answers"),
});

const cannedRepliesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/canned-replies",
  component: lazyRouteComponent(() => import("./screens/canned-replies.tsx"), "CannedReplies"),
});

const questionsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/questions",
  validateSearch: (search): { bot?: string; period?: string; state?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/questions.tsx"), "Questions"),
});

const evaluationRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/evaluation",
  validateSearch: (search): { bot?: string; question?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/evaluation.tsx"), "Evaluation"),
});

const keysRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/keys",
  component: lazyRouteComponent(() => import("./screens/keys.tsx"), "Keys"),
});

const visitorsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/visitors",
  component: lazyRouteComponent(() => import("./screens/visitors.tsx"), "Visitors"),
});

const moderationRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/moderation",
  validateSearch: (search): { bot?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/moderation.tsx"), "Moderation"),
});

const overviewRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/overview",
  component: lazyRouteComponent(() => import("./screens/overview.tsx"), "Overview"),
});

const conversationsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/conversations",
  validateSearch: (search): ConversationFilters => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/conversations.tsx"), "Conversations"),
});

const conversationRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/conversations/$id",
  validateSearch: (search): { question?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/conversation.tsx"), "Conversation"),
});

const inboxRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/inbox",
  validateSearch: (search): { show?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/inbox.tsx"), "Inbox"),
});

const inboxConversationRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/inbox/$id",
  component: lazyRouteComponent(() => import("./screens/inbox-conversation.tsx"), "InboxConversation"),
});

const toolsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/tools",
  validateSearch: (search): { bot?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/tools.tsx"), "Tools"),
});

const playgroundRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/playground",
  validateSearch: (search): { bot?: string } => toStrings(search),
  component: lazyRouteComponent(() => import("./screens/playground.tsx"), "Playground"),
});

const webhooksRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/webhooks",
  component: lazyRouteComponent(() => import("./screens/webhooks.tsx"), "Webhooks"),
});

const webhookRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/webhooks/$id",
  component: lazyRouteComponent(() => import("./screens/webhook.tsx"), "Webhook"),
});

const emailsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/emails",
  component: lazyRouteComponent(() => import("./screens/emails.tsx"), "Emails"),
});

const usageRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/usage",
  component: lazyRouteComponent(() => import("./screens/usage.tsx"), "Usage"),
});

const auditLogRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/audit-log",
  component: lazyRouteComponent(() => import("./screens/audit-log.tsx"), "AuditLog"),
});

/** Every other path. Inside the shell, so that the navigation is shown. */
const notFoundRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "$",
  component: NotFound,
});

const routeTree = rootRoute.addChildren([
  signInRoute,
  signedInRoute,
  shellRoute.addChildren([
    homeRoute,
    overviewRoute,
    conversationsRoute,
    conversationRoute,
    inboxRoute,
    inboxConversationRoute,
    botsRoute,
    botRoute,
    knowledgeRoute,
    documentRoute,
    answersRoute,
    cannedRepliesRoute,
    questionsRoute,
    evaluationRoute,
    keysRoute,
    visitorsRoute,
    moderationRoute,
    toolsRoute,
    playgroundRoute,
    webhooksRoute,
    webhookRoute,
    emailsRoute,
    usageRoute,
    auditLogRoute,
    notFoundRoute,
  ]),
]);

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  defaultPendingComponent: ScreenLoading,
  // Replaces the screen alone. Without it, an error of a screen would replace the navigation too.
  defaultErrorComponent: ScreenError,
  // Keeps every search parameter as a string. The default parses it as JSON: a visitor id of 20 digits would become a number and lose digits.
  parseSearch: parseSearchWith((value) => value),
  stringifySearch: stringifySearchWith(JSON.stringify),
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

/** Converts the search parameters to strings. Omits those that are null or undefined. */
function toStrings(search: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) => (value == null ? [] : [[name, `${value}`]])),
  );
}
