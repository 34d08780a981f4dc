SwaggerUIBundle({
  url: "../openapi.json".replace("../", location.pathname.replace(/docs\/?$/, "")),
  dom_id: "#api",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  persistAuthorization: true,
  tryItOutEnabled: true,
  requestSnippetsEnabled: true,
  syntaxHighlight: { theme: "nord" },
});
