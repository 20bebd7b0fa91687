import { ChangeAdminService } from "@parley/rpc/conversation";
import * as Dialog from "@radix-ui/react-dialog";
import * as Menu from "@radix-ui/react-dropdown-menu";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { errorText } from "./api/error-text.ts";
import { useMayCall, useSession } from "./api/session.ts";
import { signOut } from "./api/session-fetch.ts";
import { useAnnounce } from "./components/announcements.tsx";
import { Icon, type IconName } from "./components/icon.tsx";
import { OfflineNote } from "./components/offline-note.tsx";
import { PageHeader } from "./components/page-header.tsx";
import { SignInAgain } from "./components/sign-in-again.tsx";
import { Empty } from "./components/states.tsx";
import { applyTheme, readTheme, THEMES, type Theme } from "./components/theme.ts";

type NavigationGroup = { name: string; screens: readonly { to: string; name: string; icon: IconName }[] };

const GROUPS = [
  { name: "", screens: [{ to: "/overview", name: "Overview", icon: "home" }] },
  {
    name: "Talk",
    screens: [
      { to: "/conversations", name: "Conversations", icon: "chat" },
      { to: "/questions", name: "Unanswered questions", icon: "question" },
    ],
  },
  {
    name: "Build",
    screens: [
      { to: "/bots", name: "Bots", icon: "bot" },
      { to: "/knowledge", name: "Knowledge", icon: "book" },
      { to: "/moderation", name: "Moderation", icon: "shield" },
      { to: "/tools", name: "Tools", icon: "tool" },
    ],
  },
  {
    name: "Test",
    screens: [
      { to: "/playground", name: "Playground", icon: "play" },
      { to: "/evaluation", name: "Evaluation", icon: "target" },
    ],
  },
  {
    name: "Manage",
    screens: [
      { to: "/keys", name: "Keys", icon: "key" },
      { to: "/usage", name: "Usage", icon: "chart" },
      { to: "/audit-log", name: "Audit log", icon: "clock" },
    ],
  },
] as const satisfies readonly NavigationGroup[];

/** The frame of all screens: navigation and the user's menu. */
export function Shell() {
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const { role } = useSession();
  const main = useRef<HTMLElement>(null);
  const shownPath = useRef(path);
  /** The path when the drawer was opened. */
  const pathBelowDrawer = useRef(path);
  const openDrawer = (isOpen: boolean) => {
    pathBelowDrawer.current = path;
    setDrawerOpen(isOpen);
  };
  useEffect(() => {
    setDrawerOpen(false);
    // Moves the focus to the new screen, so that a screen reader announces the screen like a new page.
    if (shownPath.current !== path) main.current?.focus();
    shownPath.current = path;
  }, [path]);
  return (
    <div className="shell">
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <aside className="sidebar">
        <Brand />
        <Navigation />
        <UserMenu />
      </aside>
      <header className="topbar">
        <Dialog.Root open={isDrawerOpen} onOpenChange={openDrawer}>
          <Dialog.Trigger className="icon-button" aria-label="Open the menu">
            <Icon name="menu" />
          </Dialog.Trigger>
          <Dialog.Portal>
            <Dialog.Overlay className="overlay" />
            <Dialog.Content
              className="drawer"
              aria-describedby={undefined}
              // Closes the drawer after a link to the screen that is already shown, too.
              onClick={({ target }) => (target as Element).closest("a") && setDrawerOpen(false)}
              onCloseAutoFocus={(event) => {
                if (shownPath.current === pathBelowDrawer.current) return;
                event.preventDefault();
                main.current?.focus();
              }}
            >
              <Dialog.Title className="visually-hidden">Menu</Dialog.Title>
              <div className="drawer-top">
                <Brand />
                <Dialog.Close className="icon-button" aria-label="Close the menu">
                  <Icon name="close" />
                </Dialog.Close>
              </div>
              <Navigation />
              <UserMenu />
            </Dialog.Content>
          </Dialog.Portal>
        </Dialog.Root>
        <Brand />
      </header>
      <main id="main" className="main" tabIndex={-1} ref={main}>
        <OfflineNote />
        {role === undefined ? <NoRole /> : <Outlet />}
      </main>
      <SignInAgain />
    </div>
  );
}

function Brand() {
  return (
    <div className="brand">
      <span className="brand-mark" aria-hidden="true">
        <Icon name="chat" />
      </span>
      Parley
    </div>
  );
}

function Navigation() {
  const { role } = useSession();
  const mayReadChanges = useMayCall(ChangeAdminService.method.listChanges);
  if (role === undefined) return null;
  return (
    <nav aria-label="Screens" className="navigation">
      {GROUPS.map((group) => (
        <Group key={group.name} name={group.name}>
          {group.screens
            .filter(({ to }) => mayReadChanges || to !== "/audit-log")
            .map(({ to, name, icon }) => (
              <li key={to}>
                <Link to={to} activeProps={{ className: "active" }}>
                  <Icon name={icon} />
                  {name}
                </Link>
              </li>
            ))}
        </Group>
      ))}
    </nav>
  );
}

function Group({ name, children }: { name: string; children: ReactNode }) {
  const id = useId();
  if (name === "") return <ul>{children}</ul>;
  return (
    <>
      <p id={id}>{name}</p>
      <ul aria-labelledby={id}>{children}</ul>
    </>
  );
}

/** Replaces every screen for a member without a role, because the services would refuse all calls of this member. */
function NoRole() {
  const onSignOut = useSignOut();
  return (
    <div className="screen">
      <PageHeader title="No access" />
      <Empty
        icon="user"
        title="Your account has no role in this workspace"
        action={
          <button type="button" className="button primary" onClick={onSignOut}>
            Sign out
          </button>
        }
      >
        Ask the person who runs Parley to give you a role. Then sign out and in again.
      </Empty>
    </div>
  );
}

function useSignOut(): () => void {
  const announce = useAnnounce();
  return () => void signOut().catch((error: unknown) => announce(errorText(error), { isError: true }));
}

const THEME_NAMES: Readonly<Record<Theme, string>> = { system: "System", light: "Light", dark: "Dark" };

function UserMenu() {
  const { user, workspace_id, role } = useSession();
  const [theme, setTheme] = useState(readTheme);
  const choose = (value: string) => {
    applyTheme(value as Theme);
    setTheme(value as Theme);
  };
  const onSignOut = useSignOut();
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className="user-menu">
        <span className="avatar" aria-hidden="true">
          {Array.from(user)[0]?.toUpperCase()}
        </span>
        <span className="user-menu-text">
          <span>{user}</span>
          <small>{role === "viewer" ? `Viewer · ${workspace_id}` : workspace_id}</small>
        </span>
        <Icon name="chevronDown" />
      </Menu.Trigger>
      <Menu.Content className="menu" side="top" align="start" sideOffset={6}>
        <Menu.Label>Theme</Menu.Label>
        <Menu.RadioGroup value={theme} onValueChange={choose}>
          {THEMES.map((each) => (
            <Menu.RadioItem key={each} value={each} className="menu-item">
              {THEME_NAMES[each]}
              <Menu.ItemIndicator>
                <Icon name="check" />
              </Menu.ItemIndicator>
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Separator className="menu-separator" />
        <Menu.Item className="menu-item" onSelect={onSignOut}>
          Sign out
          <Icon name="exit" />
        </Menu.Item>
      </Menu.Content>
    </Menu.Root>
  );
}
