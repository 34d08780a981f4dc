// The page: its bar, the sign-in, and the screen that the address names.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useRoute } from "./hooks";
import { setToken, takeToken } from "./http";
import "./style.css";
import { NewThread } from "./conversation";
import { Memory } from "./memory";
import { Operator } from "./operator";
import { Thread } from "./thread";
import { Threads } from "./threads";

const THEMES = ["system", "light", "dark"] as const;

function useTheme(): [string, () => void] {
  const [theme, setTheme] = useState(localStorage.getItem("thalweg-theme") ?? "system");
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("thalweg-theme", theme);
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme as (typeof THEMES)[number]) + 1) % THEMES.length] ?? "system";
  return [theme, () => setTheme(next)];
}

function SignIn({ done }: { done: () => void }) {
  const [value, setValue] = useState("");
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <h1>Sign in</h1>
      <p>This gateway asks for a key. On your own machine it is the token in the file <code>token</code> of its data folder; <code>thalweg ui</code> opens the page with it.</p>
      <form onSubmit={(event) => { event.preventDefault(); setToken(value); done(); }}>
        <label>Key or token <input type="password" autocomplete="current-password" required value={value} onInput={(event) => setValue(event.currentTarget.value)} /></label>
        <button type="submit">Open</button>
      </form>
    </main>
  );
}

function App() {
  const { parts, query } = useRoute();
  const [theme, changeTheme] = useTheme();
  const [isOut, setOut] = useState(false);
  const [session, setSession] = useState(0);
  useEffect(() => {
    const out = () => setOut(true);
    window.addEventListener("signed-out", out);
    return () => window.removeEventListener("signed-out", out);
  }, []);
  const [screen = "", id = "", tab = ""] = parts;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <header class="top">
        <a class="brand" href="#/">Thalweg</a>
        <nav aria-label="Screens">
          <a href="#/" aria-current={["", "thread", "new"].includes(screen) ? "page" : undefined}>Threads</a>
          <a href="#/memory" aria-current={screen === "memory" ? "page" : undefined}>Memory</a>
          <a href="#/gateway" aria-current={screen === "gateway" ? "page" : undefined}>Gateway</a>
        </nav>
        <button type="button" class="plain theme" onClick={changeTheme} aria-label={`Colours: ${theme}`} title={`Colours: ${theme}`}>◐</button>
      </header>
      {isOut ? (
        <SignIn done={() => { setOut(false); setSession((n) => n + 1); }} />
      ) : screen === "thread" ? (
        <Thread key={`${id}-${session}`} id={id} tab={tab} query={query} />
      ) : screen === "new" ? (
        <NewThread key={session} />
      ) : screen === "gateway" ? (
        <Operator key={session} />
      ) : screen === "memory" ? (
        <Memory key={session} />
      ) : (
        <Threads key={session} query={query} />
      )}
    </>
  );
}

takeToken();
const root = document.getElementById("app");
if (root) render(<App />, root);
