"""The titles that models use for the sections of a summary, in several languages."""

import re

_TITLES = {
    "goal": "goal, goals, user goal, primary goal, overall goal, main goal, objective, objectives, "
    "task, the task, intent, user intent, session intent, primary request, primary request and "
    "intent, user request, 目标, 任务, 任务目标, 用户目标, 总体目标, 目的, 主要目标, 用户请求, "
    "目標, ziel, ziele, objectif, objectifs, objetivo, objetivos, obiettivo, цель",
    "constraints": "constraint, constraints, user constraints, requirements, rules, preferences, "
    "constraints and preferences, constraints & preferences, user preferences, limitations, "
    "约束, 约束条件, 限制, 限制条件, 用户约束, 要求, 用户要求, 制約, 制約条件, "
    "einschränkungen, vorgaben, contraintes, restricciones, restrições, vincoli, ограничения",
    "decisions": "decision, decisions, key decisions, decisions made, key decisions made, "
    "decisions and reasons, 决定, 决策, 关键决策, 关键决定, 已做决定, 決定, 決定事項, "
    "entscheidungen, décisions, decisiones, decisões, decisioni, решения",
    "state": "state of work, state of the work, state, status, current state, current status, "
    "progress, current work, work done, work completed, done, completed, completed work, summary, "
    "artifacts, findings, context, background, results, files and code sections, key findings, "
    "工作状态, 当前状态, 状态, 进展, 进度, 工作进展, 已完成, 已完成的工作, 当前进展, 作業状況, "
    "進捗, stand der arbeit, stand, état du travail, estado del trabajo, estado, "
    "estado do trabalho, stato del lavoro, состояние работы",
    "next_steps": "next steps, next step, next, todo, to do, todos, pending, pending tasks, "
    "remaining work, remaining tasks, remaining, what remains, plan, immediate next steps, "
    "optional next step, 下一步, 下一步计划, 后续步骤, 下一步骤, 待办, 待办事项, 接下来, "
    "次のステップ, nächste schritte, prochaines étapes, próximos pasos, próximos passos, "
    "prossimi passi, следующие шаги",
    "questions": "open questions, open question, questions, open issues, unresolved, "
    "unresolved questions, unanswered questions, blockers, 未决问题, 开放问题, 待解决问题, "
    "待确认问题, 未解决问题, 悬而未决的问题, 未解決の質問, offene fragen, questions ouvertes, "
    "preguntas abiertas, questões em aberto, domande aperte, открытые вопросы",
}
_SECTIONS = {
    title.strip(): section for section, titles in _TITLES.items() for title in titles.split(",")
}


def section_of(title: str) -> str:
    """Return the section that a title names; empty if it names none.

    Example:
        >>> section_of("Next_Steps"), section_of("目标"), section_of("Weather")
        ('next_steps', 'goal', '')
    """
    words = re.sub(r"[\s_\-*#:\uff1a.]+", " ", title).strip().casefold()
    return _SECTIONS.get(words, "")
