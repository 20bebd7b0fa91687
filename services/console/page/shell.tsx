import { mayCall, type Role } from "@parley/rpc/access";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { FORBIDDEN } from "./api/error-text.ts";
import { useSession } from "./api/session.ts";
import { Icon } from "./components/icon.tsx";
import { OfflineNote } from "./components/offline-note.tsx";
import { PageHeader } from "./components/page-header.tsx";
import { SignInAgain } from "./components/sign-in-again.tsx";
import { Empty, Failure } from "./components/states.tsx";
import { useCode } from "./components/use-code.ts";
import { useSignOut } from "./components/use-sign-out.ts";
import { t } from "./i18n/t.tsx";
import { useAlerts } from "./inbox/alerts.ts";
import { useWaitingCount } from "./inbox/handoffs-store.ts";
import { findScreen, GROUPS } from "./navigation.ts";

const loadDrawer = async () => (await import("./components/drawer.tsx")).Drawer;
const loadUserMenu = async () => (await import("./user-menu.tsx")).UserMenu;

/** The names of the roles that a user's menu shows. */
const ROLE_NAMES: Partial<Record<Role, string>> = { viewer: t("Viewer"), agent: t("Agent") };

/** The frame of all screens: navigation and the user's menu. */
export function Shell() {
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const { data: Drawer, error: drawerError, refetch: reloadDrawer } = useCode("drawer", loadDrawer);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const { role } = useSession();
  useAlerts();
  const main = useRef<HTMLElement>(null);
  const menuButton = useRef<HTMLButtonElement>(null);
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
        {t("Skip to the content")}
      </a>
      <aside className="sidebar">
        <Brand />
        <Navigation />
        <UserMenu />
      </aside>
      <header className="topbar">
        <button
          ref={menuButton}
          type="button"
          className="icon-button"
          aria-label={t("Open the menu")}
          aria-haspopup="dialog"
          aria-expanded={isDrawerOpen}
          onClick={() => openDrawer(true)}
        >
          <Icon name="menu" />
        </button>
        {Drawer && (
          <Drawer
            isOpen={isDrawerOpen}
            onOpenChange={openDrawer}
            onClosed={() => (shownPath.current === pathBelowDrawer.current ? menuButton : main).current?.focus()}
            top={<Brand />}
          >
            <Navigation />
            <UserMenu />
          </Drawer>
        )}
        <Brand />
      </header>
      <main id="main" className="main" tabIndex={-1} ref={main}>
        <OfflineNote />
        {isDrawerOpen && !Drawer && drawerError && (
          <div className="floating">
            <Failure error={drawerError} onRetry={reloadDrawer} />
          </div>
        )}
        {role === undefined ? <NoRole /> : <PermittedScreen path={path} />}
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
  if (role === undefined) return null;
  return (
    <nav aria-label={t("Screens")} className="navigation">
      {GROUPS.map(({ name: groupName, screens }) => {
        const readable = screens.filter(({ reads }) => mayCall(role, reads));
        if (readable.length === 0) return null;
        return (
          <Group key={groupName} name={groupName}>
            {readable.map(({ to, name, icon }) => (
              <li key={to}>
                <Link to={to} activeProps={{ className: "active" }}>
                  <Icon name={icon} />
                  {name}
                  {to === "/inbox" && <WaitingCount />}
                </Link>
              </li>
            ))}
          </Group>
        );
      })}
    </nav>
  );
}

/** Known while the inbox is open, or everywhere if its notifications are on. */
function WaitingCount() {
  const count = useWaitingCount();
  if (count === 0) return null;
  return (
    <>
      {" "}
      <span className="badge" aria-hidden="true">
        {count}
      </span>
    </>
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

/** Shows the screen at the path if the member's role may read it. */
function PermittedScreen({ path }: { path: string }) {
  const { role } = useSession();
  const screen = findScreen(path);
  if (screen === undefined || mayCall(role, screen.reads)) return <Outlet />;
  return (
    <div className="screen">
      <PageHeader title={screen.name} />
      <Empty icon={screen.icon} title={t("No access")}>
        {FORBIDDEN}
      </Empty>
    </div>
  );
}

/** Replaces every screen for a member without a role, because the services would refuse all calls of this member. */
function NoRole() {
  const onSignOut = useSignOut();
  return (
    <div className="screen">
      <PageHeader title={t("No access")} />
      <Empty
        icon="user"
        title={t("Your account has no role in this workspace")}
        action={
          <button type="button" className="button primary" onClick={onSignOut}>
            {t("Sign out")}
          </button>
        }
      >
        {t("Ask the person who runs Parley to give you a role. Then sign out and in again.")}
      </Empty>
    </div>
  );
}

function UserMenu() {
  const { data: Menu, error, refetch } = useCode("user-menu", loadUserMenu);
  const user = <User />;
  if (Menu) return <Menu>{user}</Menu>;
  return (
    <>
      <div className="user-menu">{user}</div>
      {error && <Failure error={error} onRetry={refetch} />}
    </>
  );
}

function User() {
  const { user, workspace_id: workspaceId, role } = useSession();
  const roleName = role && ROLE_NAMES[role];
  return (
    <>
      <span className="avatar" aria-hidden="true">
        {Array.from(user)[0]?.toUpperCase()}
      </span>
      <span className="user-menu-text">
        <span>{user}</span>
        <small>{roleName ? `${roleName} · ${workspaceId}` : workspaceId}</small>
      </span>
      <Icon name="chevronDown" />
    </>
  );
}
