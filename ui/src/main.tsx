import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { startLive } from "./live";
import "./styles/colours.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/pages.css";
import "./styles/map.css";

startLive();
const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
