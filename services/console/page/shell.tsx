import * as Dialog from "@radix-ui/react-dialog";
import * as Menu from "@radix-ui/react-dropdown-menu";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { errorText } from "./api/error-text.ts";
import { useSession } from "./api/session.ts";
import { signOut } from "./api/session-fetch.ts";
import { useAnnounce } from "./components/announcements.tsx";
import { Icon, type IconName } from "./components/icon.tsx";
import { applyTheme, readTheme, THEMES, type Theme } from "./components/theme.ts";

const SCREENS = [
  ["/overview", "Overview", "home"],
  ["/conversations", "Conversations", "chat"],
  ["/bots", "Bots", "bot"],
  ["/knowledge", "Knowledge", "book"],
  ["/questions", "Unanswered questions", "question"],
  ["/evaluation", "Evaluation", "target"],
  ["/keys", "Keys", "key"],
  ["/moderation", "Moderation", "shield"],
  ["/tools", "Tools", "tool"],
  ["/playground", "Playground", "play"],
  ["/usage", "Usage", "chart"],
  ["/audit-log", "Audit log", "clock"],
] as const satisfies readonly (readonly [string, string, IconName])[];

/** The frame of all screens: navigation and the owner's menu. */
export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const main = useRef<HTMLElement>(null);
  const shownPath = useRef(path);
  useEffect(() => {
    setMenuOpen(false);
    // After a change of the screen, a screen reader starts to read the new one, as after loading a page.
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
        <OwnerMenu />
      </aside>
      <header className="topbar">
        <Dialog.Root open={isMenuOpen} onOpenChange={setMenuOpen}>
          <Dialog.Trigger className="icon-button" aria-label="Open the menu">
            <Icon name="menu" />
          </Dialog.Trigger>
          <Dialog.Portal>
            <Dialog.Overlay className="overlay" />
            <Dialog.Content className="drawer" aria-describedby={undefined}>
              <Dialog.Title className="visually-hidden">Menu</Dialog.Title>
              <div className="drawer-top">
                <Brand />
                <Dialog.Close className="icon-button" aria-label="Close the menu">
                  <Icon name="close" />
                </Dialog.Close>
              </div>
              <Navigation />
              <OwnerMenu />
            </Dialog.Content>
          </Dialog.Portal>
        </Dialog.Root>
        <Brand />
      </header>
      <main id="main" className="main" tabIndex={-1} ref={main}>
        <Outlet />
      </main>
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
  return (
    <nav aria-label="Screens" className="navigation">
      <ul>
        {SCREENS.map(([to, name, icon]) => (
          <li key={to}>
            <Link to={to} activeProps={{ className: "active" }}>
              <Icon name={icon} />
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const THEME_NAMES: Readonly<Record<Theme, string>> = { system: "System", light: "Light", dark: "Dark" };

function OwnerMenu() {
  const { user, workspace_id } = useSession();
  const announce = useAnnounce();
  const [theme, setTheme] = useState(readTheme);
  const choose = (value: string) => {
    applyTheme(value as Theme);
    setTheme(value as Theme);
  };
  const leave = () => void signOut().catch((error: unknown) => announce(errorText(error), { isError: true }));
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className="owner">
        <span className="avatar" aria-hidden="true">
          {user.charAt(0).toUpperCase()}
        </span>
        <span className="owner-text">
          <span>{user}</span>
          <small>{workspace_id}</small>
        </span>
        <Icon name="chevron" />
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
        <Menu.Item className="menu-item" onSelect={leave}>
          Sign out
          <Icon name="exit" />
        </Menu.Item>
      </Menu.Content>
    </Menu.Root>
  );
}
